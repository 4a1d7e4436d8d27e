"""Statistics of texts: lengths, words, word lists and sentiment.

Nothing here knows a study. Every function takes a column of texts and gives columns, piece by piece, so that memory
does not grow with the number of texts. A text that is null or blank is missing: it gives null, never 0.
"""
