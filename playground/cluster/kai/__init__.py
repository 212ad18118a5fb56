"""KAI Scheduler, small: PodGroups, fair shares of Queues, binding, reclaiming, and statuses."""
