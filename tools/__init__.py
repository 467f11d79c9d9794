"""What makes things: notebooks run again and stored, pictures of explorers, pages from data."""
