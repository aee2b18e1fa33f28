"""Read what a container's command line starts: a vLLM server, its port and flags, or something else."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from .facts import Object
from .serving_kinds import (
    IDLE,
    INTERPRETERS,
    OTHER_COMMANDS,
    OTHER_MODULES,
    OTHER_PROGRAMS,
    SERVERS,
    VLLM_PORT,
    Server,
)
from .workloads import environment_of


class Command:
    """What a container runs, as words; a shell's script is read word by word."""

    def __init__(self, container: Object) -> None:
        command, args = container.get("command") or (), container.get("args") or ()
        environment = environment_of(container)
        self.words: list[str] = [w for each in (*command, *args) for w in _words(str(each), environment)]
        self.serves, start, self.default_port, self.server = _serving(self.words)
        self._given = self.words[start:]
        if self.serves and self.has_flag("--headless"):
            self.serves = ""
        self._overridden = bool(command)
        self.something_else = self._is_something_else()

    @property
    def port(self) -> int | None:
        """The port that the arguments name."""
        for flag, value in pairwise((*self._given, "")):
            text = value if flag == "--port" else flag.removeprefix("--port=") if flag.startswith("--port=") else ""
            if text.isdecimal():
                return int(text)
        return None

    def has_flag(self, name: str) -> bool:
        """Whether a flag is given, with or without `=value`."""
        return any(word == name or word.startswith(name + "=") for word in self._given)

    def _is_something_else(self) -> bool:
        """Whether the words say that no server of vLLM's is started here."""
        if self.serves:
            return False
        if self.has_flag("--headless") or any("vllm.entrypoints." in w.replace("/", ".") for w in self.words):
            return True
        words = [_base(word) for word in self.words]
        pairs = set(pairwise(words))
        if ("ray", "start") in pairs or any(("vllm", each) in pairs for each in OTHER_COMMANDS):
            return True
        if any("bench" in word for word in words) or any(map(_is_other, _programs(words))):
            return True
        return self._overridden and any(word in IDLE for word in words)

    @property
    def is_ray_head(self) -> bool:
        """Whether it starts the head of a Ray cluster, beside which a vLLM may run over all of it."""
        return ("ray", "start") in pairwise(map(_base, self.words)) and "--head" in self.words


def _is_other(program: str) -> bool:
    return program.startswith(OTHER_PROGRAMS)


def _programs(words: Sequence[str]) -> Iterator[str]:
    """Yield the words that name what runs: the first, and what follows an interpreter, its flags, or a separator."""
    expected = True
    for word in words:
        if expected and not word.startswith("-"):
            yield word
            expected = word in INTERPRETERS
        elif re.fullmatch(r"[;&|]+", word) or word in ("-m", "-c"):
            expected = True


def _base(word: str) -> str:
    return word.rpartition("/")[2]


def _words(text: str, environment: Mapping[str, str]) -> Sequence[str]:
    """Split a shell's script into words; `$(X)`, `$X` and `${X}` are filled in from *environment*."""
    text = re.sub(
        r"\$(?:\((\w+)\)|\{(\w+)(?::?-([^}]*))?\}|(\w+))",
        lambda m: environment.get(m[1] or m[2] or m[4], m[3] if m[3] is not None else m[0]),
        text,
    )
    if not re.search(r"\s", text):
        return (text,)
    script = re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE)
    lexer = shlex.shlex(script, posix=True, punctuation_chars=";&|")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:  # an open quote: a here-document, say; the words are still worth a look
        return script.split()
    # A quoted command inside a command: `eval "vllm serve …"`.
    return [each for word in words for each in _words(word, environment)]


def _serving(words: Sequence[str]) -> tuple[str, int, int | None, Server | None]:
    """(what is run, where its arguments start, the port it takes by default, its entry in `SERVERS`); "": nothing."""
    for index, word in enumerate(words):
        following = words[index + 1] if index + 1 < len(words) else ""
        if _base(word) == "vllm" and following == "serve":
            return "vllm serve", index + 2, VLLM_PORT, None
        dotted = word.replace("/", ".")
        at = dotted.find("vllm.entrypoints.")
        if at >= 0:
            module = dotted[at:].removesuffix(".py")
            is_cli = module.startswith("vllm.entrypoints.cli")
            if module.endswith(OTHER_MODULES) or (is_cli and following != "serve"):
                continue
            return module, index + 1, VLLM_PORT, None
        for server in SERVERS:
            if word == server.program or (server.program.startswith("/") and word.endswith(server.program)):
                return server.program, index + 1, server.port, server
    return "", 0, None, None
