"""The world by HTTP: acting as a person, moving time and breaking things."""
