// A small pool of threads that run the items of one loop at a time; the calling thread takes part.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace petiole {

class ThreadPool {
 public:
  explicit ThreadPool(int n_threads) {
    for (int t = 1; t < n_threads; ++t) workers_.emplace_back([this, t] { work(t); });
  }

  ~ThreadPool() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (auto& worker : workers_) worker.join();
  }

  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int n_threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Runs body(thread, item) for every item; returns when all are done and rethrows the first exception.
  void run(int n_items, const std::function<void(int, int)>& body) {
    if (workers_.empty() || n_items < 2) {
      for (int i = 0; i < n_items; ++i) body(0, i);
      return;
    }
    {
      std::lock_guard lock(mutex_);
      body_ = &body;
      n_items_ = n_items;
      next_item_ = 0;
      n_busy_ = static_cast<int>(workers_.size());
      error_ = nullptr;
      ++round_;
    }
    wake_.notify_all();
    drain(0);
    std::unique_lock lock(mutex_);
    finished_.wait(lock, [this] { return n_busy_ == 0; });
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void work(int thread) {
    std::uint64_t seen = 0;
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return stopping_ || round_ != seen; });
        if (stopping_) return;
        seen = round_;
      }
      drain(thread);
      std::lock_guard lock(mutex_);
      if (--n_busy_ == 0) finished_.notify_one();
    }
  }

  void drain(int thread) {
    try {
      for (int i = next_item_++; i < n_items_; i = next_item_++) (*body_)(thread, i);
    } catch (...) {
      std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
      next_item_ = n_items_;
    }
  }

  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable wake_, finished_;
  const std::function<void(int, int)>* body_ = nullptr;
  int n_items_ = 0;
  std::atomic<int> next_item_{0};
  int n_busy_ = 0;
  std::uint64_t round_ = 0;
  bool stopping_ = false;
  std::exception_ptr error_;
};

}  // namespace petiole
