"""Profile of all studies: what each says of a group, side by side, at one level."""

from facevalue.report.profile.profile import Profile, profile_of

__all__ = ["Profile", "profile_of"]
