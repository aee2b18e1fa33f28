"""IO. One module per outside system; each translates its errors and decides nothing."""
