"""What commands share: their arguments, what they print and how, the files that they may write."""
