"""The key walked by hand: questions about characters, asked one by one in any order."""
