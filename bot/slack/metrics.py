"""Metrics of Slack: response times, Web API calls, queued messages."""

from prometheus_client import Counter, Gauge, Histogram

ACKNOWLEDGE_SECONDS = Histogram(
    "quartermaster_slack_acknowledge_seconds",
    "Time from a request's arrival to its acknowledgement",
    ["kind"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 3.0),
)
COMMANDS = Counter(
    "quartermaster_commands_total", "Commands and clicks, by verb and outcome", ["verb", "outcome"]
)
REDELIVERIES = Counter(
    "quartermaster_slack_redeliveries_total", "Requests that Slack marks as sent before"
)
REFUSED = Counter(
    "quartermaster_slack_refused_total", "Requests refused because too many were in progress"
)
LATE_ANSWERS = Counter(
    "quartermaster_slack_late_answers_total", "Answers that took longer than 30 seconds"
)
CALLS = Counter(
    "quartermaster_slack_calls_total", "Web API calls by Slack's response", ["method", "result"]
)
CALL_SECONDS = Histogram(
    "quartermaster_slack_call_seconds", "Duration of Web API calls", ["method"]
)
RATE_LIMITED = Counter(
    "quartermaster_slack_rate_limited_total", "Web API calls answered with 429", ["method"]
)
SOCKETS = Gauge("quartermaster_slack_sockets", "Open Socket Mode connections that answer pings")
RECONNECTS = Counter(
    "quartermaster_slack_socket_connects_total", "Socket Mode connections opened", ["result"]
)
HOME_TABS = Gauge("quartermaster_home_tabs", "Home tabs that people looked at in the last hour")
HOME_PUBLISHED = Counter("quartermaster_home_published_total", "Home tabs published")
OUTBOX = Gauge(
    "quartermaster_outbox_messages", "Messages whose current state Slack does not show yet"
)
