"""Every error that kvobs raises, split by what the reader can do about it.

::

    KvobsError                  exit 3   the root; never raised itself
    ├── UsageError              exit 2   the command or a setting is wrong: say it differently
    ├── DocumentError           exit 1   one input file is bad: mend that file
    │   └── DownloadError                an address did not give the file that was meant
    ├── Unanswered              exit 4   a question could not be asked, and nothing was changed
    │   ├── KubeconfigError              no kubeconfig, no such context, a file that cannot be read
    │   ├── ClusterUnreachable           no answer from the API server
    │   └── Unauthenticated              expired or wrong credentials
    └── ActionError             exit 3   an action was refused, failed or timed out
        ├── Undecided                    what was found on the cluster needs a flag to decide; nothing was changed
        ├── ApiError                     the API server answered with a refusal (`status`, `reason`)
        │   ├── Forbidden                403: a right is missing
        │   └── Conflict                 409: somebody else owns a field, or the object moved on
        ├── HelmError                    Helm is missing, unreadable, or said no
        │   └── NotUpgraded              an upgrade failed, and nothing of it is in force
        │       └── RolledBack           what was there before is in force again
        └── NotReady                     something did not become ready in time

A library's own exception never leaves its adapter: the adapter raises one of these, `from` the cause.
"""

from __future__ import annotations


class KvobsError(Exception):
    """What went wrong and where (`str(error)`), and what to do next (`hint`)."""

    exit_code: int = 3

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(KvobsError):
    """The command line, a setting or an argument of the library is wrong."""

    exit_code = 2


class DocumentError(KvobsError):
    """One input file is not what it should be; the others may be fine."""

    exit_code = 1


class DownloadError(DocumentError):
    """An address did not give the file that was meant; `passing` says whether trying later may help."""

    def __init__(self, message: str, *, hint: str | None = None, passing: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.passing = passing


class Unanswered(KvobsError):
    """A question could not be asked; nothing was changed."""

    exit_code = 4


class KubeconfigError(Unanswered):
    """There is no usable kubeconfig, or it lacks the context that was asked for."""


class ClusterUnreachable(Unanswered):
    """The API server does not answer."""


class Unauthenticated(Unanswered):
    """The API server does not accept the credentials."""


class ActionError(KvobsError):
    """An action was refused, failed or timed out."""


class Undecided(ActionError):
    """What stands on the cluster needs a decision that only the user can make; nothing was changed."""


class ApiError(ActionError):
    """The API server refused a request.

    `status` is the HTTP status, `reason` the word of the `Status` object (`AlreadyExists`, `Invalid`, …).
    """

    def __init__(self, message: str, *, status: int, reason: str = "", hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.reason = reason


class Forbidden(ApiError):
    """The credentials lack a right."""


class Conflict(ApiError):
    """Another field manager owns a field (`fields`: path, manager), or the object changed in between."""

    def __init__(
        self,
        message: str,
        *,
        status: int,
        reason: str = "",
        hint: str | None = None,
        fields: tuple[tuple[str, str], ...] = (),
    ) -> None:
        super().__init__(message, status=status, reason=reason, hint=hint)
        self.fields = fields


class HelmError(ActionError):
    """Helm is missing, cannot be understood, or refused."""


class NotUpgraded(HelmError):
    """An upgrade failed before it made a revision, or was rolled back: nothing of it is in force."""


class RolledBack(NotUpgraded):
    """An upgrade failed; it was rolled back, so that what was there before is in force again."""


class NotReady(ActionError):
    """Something did not become ready within its time-out; the message says what and how it stood last."""
