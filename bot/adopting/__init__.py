"""`quartermaster adopt`: gives a new database back what lives of an earlier installation."""
