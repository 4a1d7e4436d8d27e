"""Reference model: a small vision-language model whose bias is planted, known and fictional."""
