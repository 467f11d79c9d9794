"""What the attention modules share around their lessons: how they print, and what they load."""

from torch import nn


class AttentionModule(nn.Module):
    """An ``nn.Module`` that prints its sizes, and loads weights of the chapter's own classes.

    A module that says nothing else has one head, and reads texts of any length.
    """

    num_heads, context_length = 1, None

    def extra_repr(self) -> str:
        """Say the sizes that the module was made with."""
        names = ("d_in", "d_out", "context_length", "num_heads", "num_kv_heads")
        return ", ".join(f"{name}={vars(self)[name]}" for name in names if name in vars(self))

    def _load_from_state_dict(self, state_dict: dict, prefix: str, *args) -> None:
        """Pass over the mask, which the chapter's classes save and these compute."""
        state_dict.pop(f"{prefix}mask", None)
        super()._load_from_state_dict(state_dict, prefix, *args)
