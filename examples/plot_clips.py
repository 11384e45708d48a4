"""
Words of movement
=================

Blocks of a clip that are small in space and in time are clustered by their edges and by their flow.
A clip is how often each of these *space-time words* is in it.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from fieldguide.datasets import load_specimen_clips
from fieldguide.identify import OneVsAllClassifier
from fieldguide.video import SpaceTimeWords

drawn = load_specimen_clips(n_per_action=6, n_frames=16, size_px=64)
words = SpaceTimeWords(n_words=60, n_iter=8, random_state=0)
X = words.fit_transform(drawn.clips)
half = len(X) // 2
key = OneVsAllClassifier(kernel="chi2", C=10.0).fit(X[:half], drawn.target[:half])
print(f"{key.score(X[half:], drawn.target[half:]):.3f} of the other half right")

# %%
# Four moments of a clip of each action.
actions = drawn.target_names[:5]
fig, axes = plt.subplots(len(actions), 4, figsize=(5, 6), layout="constrained")
for line, k in zip(axes, range(len(actions)), strict=True):
    clip = drawn.clips[np.flatnonzero(drawn.target == k)[0]]
    for ax, frame in zip(line, clip[:: len(clip) // 4], strict=False):
        ax.imshow(frame)
        ax.set_axis_off()
    line[0].set_title(actions[k], fontsize=9, loc="left")
plt.show()
