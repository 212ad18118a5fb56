"""The configuration: the settings in quartermaster.yaml, and how they are read."""

from bot.config.environment import read_secrets, upload_grant
from bot.config.file import ConfigurationFile, needs_restart
from bot.config.models import (
    Approvals,
    Clock,
    Database,
    Http,
    LeadPolicy,
    NetworkReference,
    NetworkTest,
    OverrideMode,
    Policy,
    Prices,
    Quotas,
    ResultPattern,
    Secrets,
    Settings,
    Slack,
    Training,
)
from bot.config.places import is_place
from bot.config.sections.anf import Anf, AnfChanges, PoolCreation
from bot.config.sections.clusters import (
    ClusterSettings,
    Fractions,
    GpuUnits,
    Hami,
    Ingress,
)
from bot.config.sections.datasets import CacheClass, Datasets, Layout, Store
from bot.config.sections.digests import DIGEST_SECTIONS, TIME_OF_DAY
from bot.config.sections.fsx import FsxFolder, FsxService
from bot.config.sections.gpu_sources import (
    BasicLogin,
    ClientCertificate,
    CloudWatchSettings,
    PrometheusSettings,
    SigV4,
)
from bot.config.sections.gpus import Gpus
from bot.config.sections.leftovers import Leftovers
from bot.config.sections.links import RunLink
from bot.config.sections.mlflow import Mlflow
from bot.config.sections.presets import Preset
from bot.config.sections.runai import RunaiSettings
from bot.config.sections.section import Circle
from bot.config.sections.snapshots import Snapshots
from bot.config.sections.team_creation import TeamCreation
from bot.config.sections.teams import Admission, IdleRuns, Limits, RunDefaults, Team
from bot.config.sections.templates import Template
from bot.config.slack_teams import TeamRows, with_slack_team, with_slack_teams

__all__ = [
    "DIGEST_SECTIONS",
    "TIME_OF_DAY",
    "Admission",
    "Anf",
    "AnfChanges",
    "Approvals",
    "BasicLogin",
    "CacheClass",
    "Circle",
    "ClientCertificate",
    "Clock",
    "CloudWatchSettings",
    "ClusterSettings",
    "ConfigurationFile",
    "Database",
    "Datasets",
    "Fractions",
    "FsxFolder",
    "FsxService",
    "GpuUnits",
    "Gpus",
    "Hami",
    "Http",
    "IdleRuns",
    "Ingress",
    "Layout",
    "LeadPolicy",
    "Leftovers",
    "Limits",
    "Mlflow",
    "NetworkReference",
    "NetworkTest",
    "OverrideMode",
    "Policy",
    "PoolCreation",
    "Preset",
    "Prices",
    "PrometheusSettings",
    "Quotas",
    "ResultPattern",
    "RunDefaults",
    "RunLink",
    "RunaiSettings",
    "Secrets",
    "Settings",
    "SigV4",
    "Slack",
    "Snapshots",
    "Store",
    "Team",
    "TeamCreation",
    "TeamRows",
    "Template",
    "Training",
    "is_place",
    "needs_restart",
    "read_secrets",
    "upload_grant",
    "with_slack_team",
    "with_slack_teams",
]
