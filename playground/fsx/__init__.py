"""Amazon FSx for Lustre as far as data repositories need it: one region of one account."""
