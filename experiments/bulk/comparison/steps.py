"""The elements of a comparison: steps of variants, run in rounds."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Step:
    """One process of a run."""
    name: str
    binary: str
    flags: tuple
    input: str = ""  # the name of a file that it reads (files.py), if it reads one


@dataclasses.dataclass(frozen=True)
class Variant:
    part: str
    name: str  # what the tables call it, together with `row`
    row: str
    steps: tuple
    seconds: float  # that one run takes, estimated
    rounds_max: int = 1000  # it is left out of later ones

    @property
    def label(self):
        return f"{self.part}, {self.row}, {self.name}"


@dataclasses.dataclass(frozen=True)
class Run:
    """One variant, in one round: its steps, one after the other on the same directory."""
    variant: Variant
    repetition: int

    @property
    def label(self):
        return f"{self.variant.label}, round {self.repetition}"

    def file_stem(self, step):
        name = f"{step.name}-{self.variant.row}-{self.variant.name}-{self.repetition}"
        return name.replace(",", "").replace(" ", "-")
