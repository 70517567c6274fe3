"""What the generated pages say: for each kind, a function from the facts to the pages' contents."""
