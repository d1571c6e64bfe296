from abc import ABC, abstractmethod


class Base(ABC):
    @property
    @abstractmethod
    def mark(self) -> str:
        pass
