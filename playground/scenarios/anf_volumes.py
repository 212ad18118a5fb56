"""Teams see the Azure NetApp Files volumes of their PVCs, even after a volume was moved."""

from playground.arm.estate import GIB, Estate
from playground.arm.trident import Wanted, provision, storage_class
from playground.cluster.cluster import Cluster
from playground.settings import Setup
from playground.story.story import Story


def _arranged(cluster: Cluster, estate: Estate) -> None:
    account = estate.add_account()
    standard = estate.add_pool(account, "standard-1", "Standard", 4)
    premium = estate.add_pool(account, "premium-1", "Premium", 2)
    cluster.create("storageclasses", storage_class())
    lane = provision(cluster, estate, standard, Wanted("team-a", "lane-data", 1024))
    lane.used = 230 * GIB
    provision(cluster, estate, premium, Wanted("team-b", "reports", 200))


SETUP = Setup(azure=_arranged)
_ROW = "lane-data | standard-1 | Standard | 1 TiB | 16.4 MiB/s | 230 GiB (22 %)"


async def play(story: Story) -> None:
    """Volumes, one of them, pools; then a move behind everybody's back."""
    alice, bob, carol = story.person("Alice"), story.person("Bob"), story.person("Carol")
    await alice.types("#team-a", "/anf volumes")
    await alice.is_told("Asking Azure for the volumes of team-a…")
    await alice.is_told("Volumes of team-a on Azure NetApp Files", _ROW)
    await alice.types("#team-a", "/anf show lane-data")
    await alice.is_told("Asking Azure for the volume of lane-data…")
    await alice.is_told(
        "team-a/lane-data",
        "16.4 MiB/s (follows its size, 16 MiB/s per TiB)",
        "about Premium 65.5 MiB/s, Ultra 131.1 MiB/s",
        "153.60 of the 614.40 for the pool",
    )
    await alice.types("#team-a", "/anf show reports")
    await alice.is_told("There is no PVC reports in namespace team-a.")
    await alice.types("#team-a", "/anf pools")
    await alice.is_told("This requires the right anf.pools, which you do not have here.")
    await bob.types("#team-b", "/anf pools")
    await bob.is_told("Asking Azure for the capacity pools…")
    await bob.is_told(
        "Total: 1,208.32 a month.",
        "standard-1 (1 volume) | Standard | Auto | 4 TiB | 3 TiB | 65.5 MiB/s | 614.40",
        "premium-1 (1 volume) | Premium | Auto | 2 TiB | 1.8 TiB | 131.1 MiB/s | 593.92",
    )
    lane, reports = story.azure.volumes
    lane.pool = reports.pool
    await carol.types("#team-a", "/anf volumes")
    await carol.is_told("Asking Azure for the volumes of team-a…")
    await carol.is_told(
        "lane-data was moved to pool premium-1, and Trident still has the old id.",
        "lane-data | premium-1 | Premium | 1 TiB | 65.5 MiB/s | 230 GiB (22 %)",
    )
