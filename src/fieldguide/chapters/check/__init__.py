"""What needs a look: doubtful labels, copies, bad pictures, kinds that are few or alike."""
