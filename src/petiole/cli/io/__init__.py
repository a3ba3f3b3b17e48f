"""What commands read and write: sources, tables with labels, costs, batches of rows, sinks."""
