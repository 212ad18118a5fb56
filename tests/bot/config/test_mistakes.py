"""What people read when quartermaster.yaml is wrong."""

from pathlib import Path

import pytest

from tests.bot.config.files import GOOD, refusal


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "    channels:",
            "    chanels:",
            "quartermaster.yaml line 4: teams.team-a has no key chanels; did you mean channels?",
        ),
        (
            "workspace: T0QM",
            "workspace: T0QM\nquota: {}",
            "quartermaster.yaml line 2: the file has no key quota; did you mean quotas?",
        ),
        (
            "workspace: T0QM",
            "workspace: T0QM\nleftovers: {idle_nodes_after: 10m}",
            (
                'quartermaster.yaml line 2: leftovers.idle_nodes_after is "10m";'
                " it must be from 1h to 30d."
            ),
        ),
        (
            "workspace: T0QM",
            ("workspace: T0QM\ngpus: {keep_five_minutes: 7d}\nleftovers: {idle_nodes_after: 14d}"),
            (
                "quartermaster.yaml line 3: after 14d it is no longer known whether a node was"
                " used; set gpus.keep_five_minutes to 14d or longer."
            ),
        ),
        (
            "workspace: T0QM",
            "workspace: T0QM\ntraining: {links: [{label: Board, url: 'https://{env.HOST}/'}]}",
            (
                'quartermaster.yaml line 2: training.links[0].url is "https://{env.HOST}/";'
                " it must begin with a whole host, like https://grafana.example.com/d/."
            ),
        ),
        (
            "workspace: T0QM",
            "workspace: T0QM\ntraining: {links: [{label: Board, url: 'https://b.example/{who}'}]}",
            (
                'quartermaster.yaml line 2: training.links[0].url is "https://b.example/{who}";'
                " what stands in braces must be one of {run}, {team}, {namespace}, {cluster},"
                " {pods}, {started}, {ended}, {repository}, {commit}, {env.NAME}."
            ),
        ),
        (
            "workspace: T0QM",
            "workspace: T0QM\ntraining: {links: [{label: W&B, in_log: 'https://*.wandb.ai/*'}]}",
            (
                'quartermaster.yaml line 2: training.links[0].in_log is "https://*.wandb.ai/*";'
                " it must begin with a whole host, and `*` stands for any part of the rest, like"
                " https://wandb.ai/*/*/runs/*."
            ),
        ),
        (
            "workspace: T0QM",
            (
                "workspace: T0QM\ntraining:\n  links:\n"
                "  - {label: Run, in_log: 'https://a.example/*'}\n"
                "  - {label: Run, in_log: 'https://b.example/*'}"
            ),
            (
                "quartermaster.yaml line 3: training.links is a list; each link needs a label of"
                " its own, but Run stands there twice."
            ),
        ),
        (
            "workspace: T0QM",
            "workspace: T0QM\ntraining: {links: [{label: W&B}]}",
            (
                "quartermaster.yaml line 2: training.links[0] is a mapping; a link needs either url"
                " or in_log, for example {label: W&B, in_log: 'https://wandb.ai/*/*/runs/*'}."
            ),
        ),
        (
            "workspace: T0QM",
            "workspace: T0QM\nhttp: {port: 8080}",
            "quartermaster.yaml line 2: http has no key port; choose one of: listen, ops_listen.",
        ),
        (
            "    namespace: team-a\n",
            "",
            (
                "quartermaster.yaml line 3: teams.team-a needs namespace."
                " The Kubernetes namespace of the team's runs."
            ),
        ),
        (
            "workspace: T0QM\n",
            "",
            "quartermaster.yaml: the file needs workspace. The Slack workspace this bot serves.",
        ),
        (
            "[C0TEAMA]",
            "[general]",
            (
                'quartermaster.yaml line 4: teams.team-a.channels[0] is "general";'
                " it must be a Slack channel id like C012ABCDEF."
            ),
        ),
        (
            "  team-a:",
            "  Team A:",
            (
                'quartermaster.yaml line 3: teams.Team A is named "Team A";'
                " it must be a name of lower-case letters, digits and hyphens, at most 63"
                " characters."
            ),
        ),
        (
            "workspace: T0QM",
            (
                "workspace: T0QM\nclusters: {default: {fractions: {sizes: {0.5: a/b},"
                " hami: {memory_mib: 80000}}}}"
            ),
            (
                "quartermaster.yaml line 2: hami and sizes are two ways to share GPUs;"
                " keep one of them."
            ),
        ),
        (
            "workspace: T0QM",
            "workspace: T0QM\nclusters: {default: {fractions: {sizes: {1.5: a/b}}}}",
            (
                'quartermaster.yaml line 2: clusters.default.fractions.sizes.1.5 is named "1.5";'
                " it must be a fraction of a GPU like 0.5."
            ),
        ),
        (
            "workspace: T0QM",
            "workspace: T0QM\nclusters: {default: {ingress: {host: 'https://ml.example.com'}}}",
            (
                "quartermaster.yaml line 2: clusters.default.ingress.host is"
                ' "https://ml.example.com"; it must be a host name like ml.example.com, or'
                " *.ml.example.com for one host per session."
            ),
        ),
        (
            "workspace: T0QM",
            "workspace: T0QM\nquotas: {override: transfr}",
            (
                'quartermaster.yaml line 2: quotas.override is "transfr"; it must be'
                " borrowing_limit, nominal_quota or transfer (did you mean transfer?)"
            ),
        ),
        (
            "workspace: T0QM",
            "workspace: T0QM\nquotas: {longest: 30}",
            (
                "quartermaster.yaml line 2: quotas.longest is 30;"
                " it must be a duration with a unit, like 30m, 8h, 3d or 1d12h."
            ),
        ),
        (
            "workspace: T0QM",
            "workspace: T0QM\nquotas: {longest: soon}",
            (
                'quartermaster.yaml line 2: quotas.longest is "soon";'
                " it must be a duration with a unit, like 30m, 8h, 3d or 1d12h."
            ),
        ),
        (
            "    local_queue: team-a",
            "    local_queue: team-a\n    limits: {live_runs: 0}",
            (
                "quartermaster.yaml line 7: teams.team-a.limits.live_runs is 0;"
                " it must be greater than or equal to 1."
            ),
        ),
        (
            "    local_queue: team-a",
            "    local_queue: team-a\n    time_zone: Berlin",
            (
                'quartermaster.yaml line 7: teams.team-a.time_zone is "Berlin";'
                " it must be a time zone like Europe/Berlin or UTC."
            ),
        ),
        (
            "workspace: T0QM",
            "workspace: T0QM\nhttp: {listen: 8080}",
            "quartermaster.yaml line 2: http.listen is 8080; it must be a valid string.",
        ),
        (
            "workspace: T0QM",
            "workspace: T0QM\nhttp: {listen: localhost:99999}",
            (
                'quartermaster.yaml line 2: http.listen is "localhost:99999";'
                " it must be an address and a port like 0.0.0.0:8080."
            ),
        ),
        (
            "workspace: T0QM",
            "workspace: T0QM\ntraining:\n  results:\n  - {name: acc, pattern: 'acc=[0-9]+'}",
            (
                'quartermaster.yaml line 4: training.results[0].pattern is "acc=[0-9]+"; it must be'
                " a regular expression with exactly one group, like acc=([0-9.]+)."
            ),
        ),
        (
            "workspace: T0QM",
            "workspace: T0QM\nplayground: true\nclock: {url: 'http://clock.example/'}",
            (
                'quartermaster.yaml line 3: clock.url is "http://clock.example/";'
                " it must be a URL on this machine like http://127.0.0.1:9000/clock."
            ),
        ),
    ],
)
def test_a_wrong_line_says_what_is_right(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert refusal(tmp_path, GOOD.replace(old, new, 1)) == message


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "    local_queue: team-a",
            "    local_queue: team-a\n    cluster: defualt",
            (
                "quartermaster.yaml line 7: teams.team-a is on cluster defualt,"
                " which is not in clusters; did you mean default?"
            ),
        ),
        (
            "    local_queue: team-a",
            "    queue: team-a\n    clusters: [default, lab]",
            (
                "quartermaster.yaml line 7: teams.team-a is on cluster lab,"
                " which is not in clusters; choose one of: default."
            ),
        ),
        (
            "    local_queue: team-a",
            "    queue: team-a\n    cluster: default\n    clusters: [default]",
            (
                "quartermaster.yaml line 7: teams.team-a has both cluster and clusters;"
                " list all of them in clusters."
            ),
        ),
        (
            "admins:",
            "  b:\n    channels: [C0B, C0TEAMA]\n    namespace: b\n    local_queue: b\nadmins:",
            (
                "quartermaster.yaml line 8: C0TEAMA already belongs to team-a;"
                " a channel belongs to one team."
            ),
        ),
        (
            "workspace: T0QM",
            (
                "workspace: T0QM\napprovals:\n  quota_override:\n    needed: 2\n"
                "    approvers: {people: [U0BOB, U0BOB]}"
            ),
            (
                "quartermaster.yaml line 4: 2 must approve, but approvers lists 1;"
                " add more people or a user group."
            ),
        ),
        (
            "workspace: T0QM",
            "workspace: T0QM\nclock: {url: 'http://127.0.0.1:9/clock'}",
            (
                "quartermaster.yaml line 2: a shifted clock is for the playground only;"
                " remove clock.url."
            ),
        ),
        (
            "admins:\n  people: [U0CAROL]\n",
            "",
            (
                "quartermaster.yaml: there is no admin; add at least one,"
                " like admins: {people: [U012ABCDEF]}."
            ),
        ),
    ],
)
def test_what_does_not_fit_together_is_named(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert refusal(tmp_path, GOOD.replace(old, new, 1)) == message


def test_several_mistakes_are_told_at_once_in_order(tmp_path: Path) -> None:
    text = GOOD.replace("T0QM", "acme").replace("namespace:", "name_space:")
    assert refusal(tmp_path, text).splitlines() == [
        (
            'quartermaster.yaml line 1: workspace is "acme"; it must be a Slack workspace id'
            " like T012ABCDEF."
        ),
        (
            "quartermaster.yaml line 3: teams.team-a needs namespace."
            " The Kubernetes namespace of the team's runs."
        ),
        "quartermaster.yaml line 5: teams.team-a has no key name_space; did you mean namespace?",
    ]


def test_many_mistakes_are_cut_after_ten(tmp_path: Path) -> None:
    text = GOOD + "".join(f"unknown{i}: 1\n" for i in range(12))
    lines = refusal(tmp_path, text).splitlines()
    assert len(lines) == 11
    assert lines[-1] == "... and 2 more."
