"""`quartermaster adopt` on the command line: what it prints, and its exit codes."""

from tests.bot.terminal import Terminal


def test_without_a_schema_nothing_is_adopted(terminal: Terminal) -> None:
    code, out, error = terminal.run("adopt")
    assert (code, out) == (1, "")
    assert error.splitlines() == [
        "quartermaster: The database schema is older than this server.",
        "Run `quartermaster migrate`.",
    ]


def test_a_cluster_without_credentials_is_named(terminal: Terminal) -> None:
    assert terminal.run("migrate")[0] == 0
    code, out, error = terminal.run("adopt", "--yes")
    assert (code, out) == (1, "")
    kubeconfig = terminal.folder / "kubeconfig"
    reason, hint = error.splitlines()
    assert reason == (
        f"quartermaster: Cannot load credentials of the cluster from {kubeconfig}: Invalid"
        f" kube-config file. Expected key current-context in {kubeconfig}."
    )
    assert hint == (
        "Set a kubeconfig under clusters in quartermaster.yaml, or run the bot in the cluster."
    )
