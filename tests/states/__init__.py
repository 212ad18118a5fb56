"""Every state of every card, form and Home, as whole text and as a picture."""
