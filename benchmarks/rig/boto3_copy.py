"""What a fill is compared with: `python -m benchmarks.rig.boto3_copy ENDPOINT BUCKET FOLDER`.

boto3's own download with 32 threads over the objects, as scripts do it. Keys come from the
environment.
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import boto3
from boto3.s3.transfer import TransferConfig
from botocore.config import Config

_THREADS = 32


def main() -> None:
    """Copies a bucket into a folder."""
    endpoint, bucket, folder = sys.argv[1:]
    client = boto3.client(
        "s3", endpoint_url=endpoint, config=Config(max_pool_connections=2 * _THREADS)
    )
    how = TransferConfig(preferred_transfer_client="classic")
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket)
    keys = [found["Key"] for page in pages for found in page.get("Contents", [])]

    def copy(key: str) -> None:
        path = Path(folder, key)
        path.parent.mkdir(parents=True, exist_ok=True)
        client.download_file(bucket, key, str(path), Config=how)

    with ThreadPoolExecutor(_THREADS) as pool:
        list(pool.map(copy, keys))


if __name__ == "__main__":
    main()
