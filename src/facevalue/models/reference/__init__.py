"""The reference model: a small vision-language model whose bias is planted, known, and true of nobody."""
