"""`search` and `fetch`: the same data as pages, for ChatGPT outside its developer mode."""
