// Browsers start no worker for a page that was opened as a file. There the script of a worker runs in a hidden frame instead,
// so that the search works without a server. Pages from a server have real workers.
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(url) {
      this.onmessage = this.onerror = null;
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      this.scope = this.frame.contentWindow;
      // What the script says goes to the page as a copy, and later, as from a worker.
      this.scope.postMessage = (data) => {
        const copy = structuredClone(data);
        setTimeout(() => this.onmessage?.(new MessageEvent("message", { data: copy })));
      };
      this.started = new Promise((resolve) => {
        const script = this.scope.document.createElement("script");
        script.src = new URL(url, location).href;
        script.onload = resolve;
        script.onerror = (event) => this.onerror?.(event);
        this.scope.document.body.append(script);
      });
    }

    postMessage(data) {
      const copy = structuredClone(data);
      this.started.then(() => this.scope.onmessage?.(new MessageEvent("message", { data: copy })));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
