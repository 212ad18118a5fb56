"""GPU quota: what teams may use, and overrides of it that end by themselves."""

from bot.quotas.engines.engine import Engine, Figures, Queue, Queues
from bot.quotas.engines.registry import Engines

__all__ = ["Engine", "Engines", "Figures", "Queue", "Queues"]
