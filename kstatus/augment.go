package kstatus

// augmented marks a condition that Augment wrote.
const augmented = "augmentedBy"
