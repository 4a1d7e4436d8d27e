"""FaceValue audits social bias in vision-language models."""

__version__ = "0.1.0"
