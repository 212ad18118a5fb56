"""Commands, declared once: their verbs with parameters, and their buttons.

From these values come the grammar, help, usage errors, permissions, the Slack app manifest and
docs/commands.md.
"""

import inspect
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from enum import StrEnum
from functools import cached_property
from typing import Any, Literal, Required, TypedDict, TypeVar, Unpack

from bot.slack.card import Reply
from bot.slack.grammar.foreign import Translate
from bot.slack.grammar.form_plans import FormPlan
from bot.slack.grammar.parameters import ClusterName, TeamName, Text, ValueType
from bot.slack.markup import Markup

Handler = TypeVar("Handler", bound=Callable[..., Reply])

HELP_WORDS = frozenset({"help", "-h", "--help"})


TEAM = "Team (default: the channel's)"
"""The help of the option `--team`."""

CLUSTER = "Cluster, if the team has more than one"
"""The help of the option `--cluster`."""


class DeclarationError(Exception):
    """A declaration contradicts itself or another one; a mistake of ours, found at start."""


class VerbTraits(TypedDict, total=False):
    """The traits of a verb.

    `examples` are what follows the slash name. With `mutates`, the bot asks before the same text is
    carried out twice within a minute. A verb that `repeats` does not need this: it asks by itself,
    or has one effect however often it is sent. A reading verb may write with the flags whose
    keywords are in `writing`. `into` is a dataclass for the values of a verb with many options.
    A verb with `team` has the option `--team` with that help: its caller acts for the named team,
    or for that of the channel. A handler that needs the name as typed has a parameter `team`.
    `form` says what the verb's form shows (default: a field for each parameter).
    The answer of a verb that `shares` has a button that posts it for everyone in the channel.
    A verb with `cluster` has the option `--cluster` with that help: its handler's `cluster` is the
    name as typed, or None.
    """

    right: Required[StrEnum]
    examples: Required[tuple[str, ...]]
    mutates: bool
    repeats: bool
    writing: tuple[str, ...]
    shares: bool
    form: FormPlan
    into: type
    team: str
    cluster: str


class ValueTraits(TypedDict, total=False):
    """How an argument or option behaves.

    An argument is required unless it has a default or says otherwise, an option is not.
    With `multiple` the value is a tuple. Without a value and a default, it is None. An option with
    `bare` may be given without a value; its value is then `bare`.
    """

    help: str
    default: object
    required: bool
    multiple: bool
    metavar: str
    bare: object


class ButtonTraits(TypedDict, total=False):
    """The traits of a button.

    `right` is that of the verb which does the same. `team` returns, from the context and the
    button's value, the team that owns the object of the button: the person needs the right in that
    team, in any channel. It is `of_no_team` if no team owns the object. A button with `anywhere`
    may also be clicked in channels of no team, such as those of digests.

    The same click by any person within a minute has no second effect. A button that `repeats` is
    carried out each time: it changes nothing, or has one effect however often it is clicked. A
    button that answers a question has its effect `once` per message, for a day.
    """

    right: Required[StrEnum]
    team: Required[Callable[[Any, str], str | None]]
    anywhere: bool
    repeats: bool
    once: bool


def of_no_team(_ctx: object, _value: str) -> str | None:
    """The `team` of a button about what no team owns; the person's roles in the channel count."""
    return None


class RestTraits(TypedDict, total=False):
    """How the words after `--` behave."""

    help: str
    required: bool
    metavar: str


@dataclass(frozen=True)
class Parameter:
    """One argument, option, flag, or the rest after `--`; `name` is the handler's keyword."""

    name: str
    shape: Literal["argument", "option", "flag", "rest"]
    kind: ValueType[Any]
    dashed: str = ""
    help: str = ""
    default: object = None
    required: bool = False
    multiple: bool = False
    metavar: str = ""
    bare: object = None

    @property
    def word(self) -> str:
        """The placeholder of the value in help."""
        return self.metavar or (self.name.upper() if self.shape == "rest" else self.kind.word)

    @property
    def spelled(self) -> str:
        """The parameter as usage shows it, without brackets."""
        if self.shape == "rest":
            return f"-- {self.word} ..."
        word = self.word if self.bare is None else f"[{self.word}]"
        return " ".join(filter(None, (self.dashed, "" if self.shape == "flag" else word)))

    @property
    def usage(self) -> str:
        """The parameter as usage shows it, in brackets where it may be left out."""
        repeated = " ..." if self.multiple else ""
        return f"{self.spelled}{repeated}" if self.required else f"[{self.spelled}]{repeated}"


@dataclass(frozen=True, eq=False)
class Verb:
    """One subcommand of a command, such as `submit` of `/train`."""

    name: str
    summary: str
    handler: Callable[..., Reply]
    parameters: tuple[Parameter, ...]
    right: StrEnum
    examples: tuple[str, ...]
    mutates: bool = False
    repeats: bool = False
    writing: tuple[str, ...] = ()
    shares: bool = False
    form: FormPlan = field(default_factory=FormPlan)
    into: type | None = None
    team: str = ""
    cluster: str = ""

    def answer(self, ctx: object, values: Mapping[str, object]) -> Reply:
        """The handler's reply to these values."""
        values = self._taken(values)
        if self.into is None:
            return self.handler(ctx, **values)
        return self.handler(ctx, self.into(**values))

    def foreseen(self, ctx: object, values: Mapping[str, object]) -> Sequence[Markup]:
        """What these values would do, as far as the form's plan tells; UserError if nothing."""
        if self.form.foresee is None or self.into is None:
            return ()
        return self.form.foresee(ctx, self, self.into(**self._taken(values)))

    def _taken(self, values: Mapping[str, object]) -> Mapping[str, object]:
        """The values that the handler takes."""
        if self.team and not self._takes_team:
            return {name: value for name, value in values.items() if name != "team"}
        return values

    @cached_property
    def _takes_team(self) -> bool:
        """Whether the handler takes the team's name, which is looked up once: that takes long."""
        return "team" in _keywords(self)[1]

    @property
    def usage(self) -> str:
        """The verb with its parameters, without the command's name."""
        return " ".join((self.name, *(parameter.usage for parameter in self.parameters)))

    @property
    def rest(self) -> Parameter | None:
        """The parameter for the words after `--`, if the verb has one."""
        return next((each for each in self.parameters if each.shape == "rest"), None)


@dataclass(frozen=True)
class ButtonVerb:
    """What a click on a button with this action runs."""

    action: str
    handler: Callable[..., Reply]
    right: StrEnum
    team: Callable[[Any, str], str | None]
    anywhere: bool = False
    repeats: bool = False
    once: bool = False

    def answer(self, ctx: object, value: str) -> Reply:
        """The handler's reply to the button's value."""
        return self.handler(ctx, value)


class Part:
    """Verbs and buttons of the slash command of that name, without slash and prefix."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.verbs: dict[str, Verb] = {}
        self.buttons: dict[str, ButtonVerb] = {}
        self.undeclared: dict[Callable[..., Reply], list[Parameter]] = {}

    def verb(
        self, name: str, summary: str, **traits: Unpack[VerbTraits]
    ) -> Callable[[Handler], Handler]:
        """Declares the function below it; stands above its arguments and options."""

        def declare(handler: Handler) -> Handler:
            parameters = tuple(reversed(self.undeclared.pop(handler, [])))
            shared = _shared(traits.get("cluster", ""), traits.get("team", ""))
            parameters = _before_rest(parameters, shared)
            verb = Verb(name, summary, handler, parameters, **traits)
            self._refuse_twice("verb", name, self.verbs)
            _check(self.name, verb)
            self.verbs[name] = verb
            return handler

        return declare

    def argument(
        self, name: str, kind: ValueType[Any], **traits: Unpack[ValueTraits]
    ) -> Callable[[Handler], Handler]:
        """A value that is known by its place; required unless it says otherwise."""
        traits.setdefault("required", "default" not in traits)
        return self._parameter(Parameter(name, "argument", kind, **traits))

    def option(
        self,
        dashed: str,
        *details: str | ValueType[Any],
        flag: bool = False,
        **traits: Unpack[ValueTraits],
    ) -> Callable[[Handler], Handler]:
        """A value named by `--word`; details are the handler's keyword and the kind of value.

        Without them the keyword is that word and the value is text. A `flag` takes no value
        and is True or False.
        """
        names = [each for each in details if isinstance(each, str)]
        kinds = [each for each in details if not isinstance(each, str)]
        name = names[0] if names else dashed.removeprefix("--").replace("-", "_")
        shape: Literal["flag", "option"] = "flag" if flag else "option"
        kind = kinds[0] if kinds else Text()
        return self._parameter(Parameter(name, shape, kind, dashed, **traits))

    def rest(self, name: str, **traits: Unpack[RestTraits]) -> Callable[[Handler], Handler]:
        """The words after `--`, as they were typed; an empty tuple where there are none."""
        return self._parameter(Parameter(name, "rest", Text(), default=(), **traits))

    def button(self, action: str, **traits: Unpack[ButtonTraits]) -> Callable[[Handler], Handler]:
        """Declares the function below it: it answers clicks, given the button's value.

        Its context's caller is the person as who they are to the button's team, with the right.
        """

        def declare(handler: Handler) -> Handler:
            self._refuse_twice("button", action, self.buttons)
            if not action.startswith(f"{self.name}."):
                raise DeclarationError(f"Button {action} does not begin with {self.name}.")
            self.buttons[action] = ButtonVerb(action, handler, **traits)
            return handler

        return declare

    @property
    def unclaimed(self) -> list[str]:
        """Functions that have arguments or options but no verb above them."""
        return [handler.__qualname__ for handler in self.undeclared]

    def _parameter(self, parameter: Parameter) -> Callable[[Handler], Handler]:
        def declare(handler: Handler) -> Handler:
            self.undeclared.setdefault(handler, []).append(parameter)
            return handler

        return declare

    def _refuse_twice(self, what: str, name: str, known: Iterable[str]) -> None:
        if name in known:
            raise DeclarationError(f"{what.capitalize()} {name} of {self.name} is declared twice.")


class Command(Part):
    """A slash command: its name without slash and prefix, and one sentence about it.

    `alone` is the verb that its name means where nothing follows; without it that asks for help.
    `parts` are what its files declare; help lists their verbs in that order. `translate` turns
    commands of other programs that people paste into its own.
    """

    def __init__(
        self,
        name: str,
        summary: str,
        *,
        alone: str | None = None,
        parts: Sequence[Part] = (),
        translate: Translate | None = None,
    ) -> None:
        super().__init__(name)
        self.summary = summary
        self.alone = alone
        self.translate = translate
        for part in parts:
            self._add(part)

    def _add(self, part: Part) -> None:
        if part.name != self.name:
            raise DeclarationError(f"A part of {self.name} was declared for {part.name}.")
        for verb in part.verbs.values():
            self._refuse_twice("verb", verb.name, self.verbs)
            self.verbs[verb.name] = verb
        for button in part.buttons.values():
            self._refuse_twice("button", button.action, self.buttons)
            self.buttons[button.action] = button
        self.undeclared |= part.undeclared


def _shared(cluster: str, team: str) -> tuple[Parameter, ...]:
    """The options that verbs share, for which a verb has a help."""
    options = (
        Parameter("cluster", "option", ClusterName(), "--cluster", cluster),
        Parameter("team", "option", TeamName(), "--team", team),
    )
    return tuple(each for each in options if each.help)


def _before_rest(
    parameters: tuple[Parameter, ...], shared: tuple[Parameter, ...]
) -> tuple[Parameter, ...]:
    """The parameters with the shared options, which are the last before the words after `--`."""
    rest = len(parameters) - sum(each.shape == "rest" for each in parameters)
    return (*parameters[:rest], *shared, *parameters[rest:])


def _check(command: str, verb: Verb) -> None:
    """Rejects a verb that cannot be used, or whose handler takes other values."""
    spoken = f"{command} {verb.name}"
    names = [parameter.name for parameter in verb.parameters]
    if verb.name in HELP_WORDS:
        raise DeclarationError(f"{spoken}: this word asks for help everywhere.")
    if len(set(names)) < len(names):
        raise DeclarationError(f"{spoken} has two parameters of one name: {', '.join(names)}.")
    if not verb.examples or any(each.split()[0] != verb.name for each in verb.examples):
        raise DeclarationError(f"{spoken} needs examples that begin with {verb.name}.")
    needed, known = _keywords(verb)
    if verb.team:
        known.add("team")
    if not needed <= set(names) <= known:
        raise DeclarationError(
            f"{spoken} declares {sorted(names)}, but its handler takes {sorted(known)}."
        )


def _keywords(verb: Verb) -> tuple[set[str], set[str]]:
    """The names that a handler must get, and all that it knows."""
    if verb.into is not None:
        taken = fields(verb.into)
        needed = {f.name for f in taken if f.default is f.default_factory is MISSING}
        return needed, {f.name for f in taken}
    known: set[str] = set()
    needed = set()
    for parameter in list(inspect.signature(verb.handler).parameters.values())[1:]:
        if parameter.kind is parameter.VAR_KEYWORD:
            (options,) = typing.get_args(parameter.annotation)
            known |= options.__required_keys__ | options.__optional_keys__
            needed |= options.__required_keys__
        else:
            known.add(parameter.name)
            needed |= {parameter.name} if parameter.default is parameter.empty else set()
    return needed, known
