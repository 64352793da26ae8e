"""Language models over the OpenAI protocol: which one, how it is asked, and how far the asking may go."""

from replay.chat.model import ChatModel, ChatReply, LimitReachedError, Limits, ModelError, ModelSettings, read_models

__all__ = ["ChatModel", "ChatReply", "LimitReachedError", "Limits", "ModelError", "ModelSettings", "read_models"]
