"""The page of the playground: a team chat in a browser, with the world outside beside it."""
