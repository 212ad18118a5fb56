"""Azure as far as Azure NetApp Files needs it: its part of Resource Manager, and its identity."""
