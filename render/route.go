package render

// A fork stands behind a passage. What text/template plays next follows from what was decided there and before, so it need not be asked again: a run
// remembers for each decision which way text/template went, and at the end of a route the form of the text. Most renderings take the route of another.
//
// A route that is new is first taken in vain, up to where it is new, and then by text/template, from which the run learns it.
type fork []way

// A way leads on from a fork.
type way struct {
	crossing
	to  *fork
	end *form // where the template ends
}

// A crossing is a passage, nil for the end of the template, and what was decided before it: how many passes a loop makes, and 1 for what is true; 0 if
// nothing.
type crossing struct {
	decided int
	passage *passage
}

// An atlas is what a run has learnt of routes.
type atlas struct {
	start         fork // of all routes
	learnt        int  // ways, and parts of forms
	routes, known int  // how many were learnt, and how many renderings took one of them
	rest          int  // how many renderings are to come in which no route is looked for
}

const (
	// mostWays bounds what an atlas holds: beyond that all is forgotten.
	mostWays = 1 << 13
	// longRest is for templates of which hardly any rendering takes the route of another: to look for routes and to learn them is in vain.
	longRest = 1 << 12
)

// forget makes room.
func (a *atlas) forget() {
	rest := 0
	if a.known < a.routes {
		rest = longRest
	}
	*a = atlas{rest: rest}
}

func (a *atlas) rests() bool {
	if a.rest == 0 {
		return false
	}
	a.rest--
	return true
}

// replay plays the passages of a route that is known. The form is nil where it is not.
func (r *run) replay(in Input) (end *form, err error) {
	err = r.recovered(func() error {
		r.begin(in)
		at := &r.start
		for at != nil {
			w := at.way(r.decided)
			if w == nil {
				return nil
			}
			if w.passage != nil && !r.play(w.passage) {
				return errGaveUp
			}
			at, end = w.to, w.end
		}
		return nil
	})
	return end, err
}

func (f *fork) way(decided int) *way {
	for i := range *f {
		if w := &(*f)[i]; w.decided == decided {
			return w
		}
	}
	return nil
}

// learn remembers the route that text/template took, unless it is long beyond measure. It returns its form.
func (r *run) learn() *form {
	if len(r.route) > mostWays {
		return &form{}
	}
	if r.learnt > mostWays {
		r.forget()
	}
	r.routes++
	at := &r.start
	for _, c := range r.route {
		w := r.take(at, c)
		if w.to == nil {
			w.to = &fork{}
		}
		at = w.to
	}
	r.write()
	w := r.take(at, crossing{decided: r.decided})
	w.end = formOf(string(r.out), r.spans, &r.words)
	r.learnt += w.end.size
	return w.end
}

// take finds a way or makes it.
func (r *run) take(at *fork, c crossing) *way {
	if w := at.way(c.decided); w != nil {
		return w
	}
	r.learnt++
	*at = append(*at, way{crossing: c})
	return &(*at)[len(*at)-1]
}
