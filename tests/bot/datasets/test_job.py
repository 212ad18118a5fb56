"""What the pods of datasets are told of stores, and how they get the credentials."""

import json

from bot.config import Store
from bot.datasets.job import told, worker_pod
from tests.bot.datasets.rig import SETTINGS

WAREHOUSE = Store(type="gcs", secret="warehouse-key")  # noqa: S106 - the name of a Secret


def test_a_pod_gets_keys_by_reference() -> None:
    datasets = SETTINGS.datasets
    assert datasets is not None
    pod = worker_pod(datasets, {"warehouse": WAREHOUSE}, ["survey"])
    assert pod["volumes"][0] == {
        "name": "keys-0",
        "secret": {"secretName": "warehouse-key", "defaultMode": 0o440},
    }
    assert pod["containers"][0]["volumeMounts"][0] == {
        "name": "keys-0",
        "mountPath": "/etc/quartermaster/stores/warehouse",
        "readOnly": True,
    }


def test_each_type_has_its_settings() -> None:
    folder = "/etc/quartermaster/stores/warehouse"
    assert json.loads(told("warehouse", WAREHOUSE)) == {
        "type": "gcs",
        "endpoint": None,
        "ca_file": None,
        "credentials": folder,
    }
    grid = Store(endpoint="https://grid.example", path_style=True, ca_file="/ca.crt", secret="keys")  # noqa: S106 - as above
    assert told("warehouse", grid) == (
        '{"endpoint": "https://grid.example", "region": "us-east-1", "path_style": true,'
        f' "ca_file": "{folder}/ca.crt", "credentials": "{folder}", "public_endpoint": null}}'
    )
