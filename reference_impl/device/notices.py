"""Events and Delivery Issues on their way to the app's listeners."""

from __future__ import annotations

from reference_impl.device.context import Context
from reference_impl.device.effects import Effect, Event, Issue, NotifyEvent, NotifyIssue


class Listeners:
    """The listeners of one kind of notice. What comes before the first of them waits for it (RCV-003)."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._waiting: list[Effect] = []
        self._handles: set[str] = set()
        self._had_one = False

    def add(self, handle: str) -> None:
        self._handles.add(handle)
        self._had_one = True
        self._context.effects.extend(self._waiting)
        self._waiting.clear()

    def cancel(self, handle: str) -> None:
        self._handles.discard(handle)

    def notify(self, effect: Effect) -> None:
        if self._handles:
            self._context.emit(effect)
        elif self.keeps_unheard():
            self._waiting.append(effect)

    def keeps_unheard(self) -> bool:
        """Events are buffered until there was a listener; for issues the sources leave it open (RCV-003)."""
        return not self._had_one


class Notices:
    """Raises issues and events. They go to the app and nowhere else (RCV-015)."""

    listeners_class: type[Listeners] = Listeners

    def __init__(self, context: Context) -> None:
        self.issue_listeners = self.listeners_class(context)
        self.event_listeners = self.listeners_class(context)

    def issue(self, issue: Issue) -> None:
        self.issue_listeners.notify(NotifyIssue(issue))

    def event(self, event: Event) -> None:
        self.event_listeners.notify(NotifyEvent(event))
