"""Every five minutes: snapshots whose time is up are deleted."""

from bot.schedule import ScheduledJob
from bot.snapshots.expiry import expire

job = ScheduledJob("snapshot-expiry", "*/5 * * * *", "UTC", expire)
