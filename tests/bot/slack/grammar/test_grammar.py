import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.errors import UsageError
from bot.slack.grammar.splitting import after_mention, escaped, normalise, split


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("list", "list"),
        ("  list \n", "list"),
        ("`submit lane`", "submit lane"),
        ("```submit lane```", "submit lane"),
        ("logs \u2014tail 5", "logs --tail 5"),
        ("logs \u2013\u2013tail 5", "logs --tail 5"),
        ("logs\u00a0lane\u200b", "logs lane"),
        ("request \u22128", "request -8"),
        ("request \u20138 \u2014for 1d", "request -8 --for 1d"),
        ("request \u20148 \u2212for 1d", "request -8 --for 1d"),
        ("status team\u2011a", "status team-a"),
        ('--reason "\u22128 or so"', '--reason "\u22128 or so"'),
        ("submit lane \\\n  --gpus 2 \\ \r\n--cpu 4", "submit lane   --gpus 2 --cpu 4"),
        ("list \\", "list"),
        ("a\\b C:\\x D:\\", "a\\b C:\\x D:\\"),
        ("why \u201ca b\u201d \u2018c\u2019", "why \"a b\" 'c'"),
        ("date 2026\u201310", "date 2026\u201310"),
        ('--reason "we \u2014 all of us"', '--reason "we \u2014 all of us"'),
        ("ask <@U1|bob> in <#C1|x>", "ask @U1 in #C1"),
        ("ask <@U1> or <!subteam^S1|@x> or <!here>", "ask @U1 or @S1 or @here"),
        ("<http://ghcr.io/acme/lane:3.1|ghcr.io/acme/lane:3.1>", "ghcr.io/acme/lane:3.1"),
        ("<https://a.b/c>", "https://a.b/c"),
        ("<https://evil.example/x|a.b>", "https://evil.example/x"),
        ("<mailto:a@b.c|a@b.c>", "a@b.c"),
        ("a &amp;&amp; b &lt;@U1&gt; &amp;lt;", "a && b <@U1> &lt;"),
    ],
)
def test_tidies_what_keyboards_and_slack_change(typed: str, meant: str) -> None:
    assert normalise(typed) == meant


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("lane -- a \u2014b\u00a0c \u2013 \u200bd", "lane -- a \u2014b\u00a0c \u2013 \u200bd"),
        ("lane -- a  b \\n", "lane -- a  b \\n"),
        ("lane -- a \u22125 \u20145", "lane -- a \u22125 \u20145"),
        ("lane \u2014 a \u22125", "lane -- a -5"),
        ("lane -- python train.py \\\n    --lr 1\\\ne-3", "lane -- python train.py     --lr 1e-3"),
        ("lane -- sh -c 'a \\\n b'", "lane -- sh -c 'a \\\n b'"),
        ("lane -- echo \u201chi\u201d &gt; <http://a.b|a.b>", 'lane -- echo "hi" > a.b'),
        ("lane \u2014 python train.py \u2014epochs 3", "lane -- python train.py --epochs 3"),
        ('--reason "a -- b" -- c', '--reason "a -- b" -- c'),
    ],
)
def test_leaves_the_container_command_as_typed(typed: str, meant: str) -> None:
    assert normalise(typed) == meant


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ('a "b c" d', ["a", "b c", "d"]),
        ("run#2 # no comment", ["run#2", "#", "no", "comment"]),
        ("don't can't", ["don't", "can't"]),
        ("the users' runs", ["the", "users'", "runs"]),
        (r"a\b C:\x", [r"a\b", r"C:\x"]),
        ("--env A='b c'", ["--env", "A=b c"]),
        ("x -- bash -c 'echo \"a  b\"'", ["x", "--", "bash", "-c", 'echo "a  b"']),
        (r'x -- bash -c "echo \"hi\""', ["x", "--", "bash", "-c", 'echo "hi"']),
        ("don't -- sed -e's/a b/c/'", ["don't", "--", "sed", "-es/a b/c/"]),
        ("x -- echo don't", ["x", "--", "echo", "don't"]),
        ("x -- a -- b", ["x", "--", "a", "--", "b"]),
        ("x --", ["x", "--"]),
    ],
)
def test_splits_words_as_people_mean_them(text: str, words: list[str]) -> None:
    assert split(text) == words


def test_names_the_quote_left_open() -> None:
    with pytest.raises(UsageError) as caught:
        split('request +8 --reason "CVPR')
    assert caught.value.message == 'The quote at `"CVPR` is not closed.'
    assert caught.value.hint == (
        'Close it at the end of the text, for example `--reason "CVPR deadline"`.'
    )


def test_takes_what_follows_the_mention() -> None:
    assert after_mention("hey <@U0QM> train list", "U0QM") == " train list"
    assert after_mention("<@U0QM|quartermaster> list <@U0QM>", "U0QM") == " list <@U0QM>"
    assert after_mention("train list", "U0QM") == "train list"


@given(st.text("<>&;-' \"\nab|@#!l t"))
def test_an_escaped_text_means_what_it_meant(typed: str) -> None:
    meant = normalise(typed)
    assert normalise(escaped(meant)) == meant
