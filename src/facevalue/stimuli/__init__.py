"""What is shown: pictures from files or drawn, pairs, forms, scenes, and lists of them."""
