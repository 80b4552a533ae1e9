"""Stan programs: compiling them, and fitting them."""

from .program import from_stan

__all__ = ["from_stan"]
