"""What a tool says of a program."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Reading:
    """Whether a tool raises an alarm, and the numbers that it has measured."""

    alarm: bool
    says: str

    def __str__(self) -> str:
        return f"{'ALARM' if self.alarm else 'quiet'}  {self.says}"
