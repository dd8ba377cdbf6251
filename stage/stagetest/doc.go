// Package stagetest tests Stage files by stories: txtar archives that hold Stages, objects, commands and the trace that is wanted.
// They are played on an in-memory cluster in virtual time.
package stagetest
