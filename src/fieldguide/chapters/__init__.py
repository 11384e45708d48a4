"""Chapters that a guide can do without, each in a folder of its own.

A chapter owns everything about itself: what it measures and writes while a guide is built, what it
says of a new image, its part of the pages and its commands. ``guide/chapters.py`` has the list:
without its line there, and without its folder, the rest works as before.
"""
