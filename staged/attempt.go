package staged

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stagecraft-go/stagecraft/internal/printable"
	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// historyLength is how many attempts a status keeps.
const historyLength = 10

// endAttempt adds an attempt that has ended to the history. One that never began is left out.
func (d *decider) endAttempt(rec *v1alpha1.StageStatus, revision fleet.RevisionID, outcome, why string) {
	if rec.EnteredAt == nil && outcome != "Skipped" {
		return
	}
	all := slices.Clone(d.Status.History)
	ended := v1alpha1.Attempt{
		Revision: d.revisionName(revision), Stage: rec.Name, Number: max(1, rec.Attempt), Began: rec.EnteredAt, Ended: wholeSecond(d.now),
		Outcome: outcome, Why: printable.Line(why), ApprovedBy: strings.Join(slices.DeleteFunc([]string{rec.ApprovedBefore, rec.ApprovedAfter}, func(by string) bool { return by == "" }), ", "),
	}
	if word, who, _ := strings.Cut(d.Status.Expedited, " "); word != "" {
		ended.ExpeditedBy = cmp.Or(who, word)
	}
	if n := len(all) - 1; n >= 0 && all[n].Revision == ended.Revision && all[n].Stage == ended.Stage && all[n].Number == ended.Number {
		all[n] = ended
	} else {
		all = append(all, ended)
	}
	d.Status.History = all[max(0, len(all)-historyLength):]
}

// ticketOf names what an approval is for. Another revision, another plan or another attempt
// has another ticket.
func (d *decider) ticketOf(rec *v1alpha1.StageStatus, gate string) string {
	parts := []string{string(d.meta.UID), rec.Name, gate, d.Status.Wanted, d.policy.plan, fmt.Sprint(max(1, rec.Attempt), d.Status.Epoch)}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	digits := hex.EncodeToString(sum[:8])
	if d.Status.Wanted == "" {
		return digits
	}
	return d.revisionName(fleet.RevisionID(d.Status.Wanted)) + "/" + digits
}

// isTicket reports whether a word looks like a ticket.
func isTicket(word string) bool {
	digits := word[strings.LastIndex(word, "/")+1:]
	return len(digits) == 16 && strings.Trim(digits, "0123456789abcdef") == ""
}

// names reports whether a word names a ticket: as a whole, or its digits alone.
func names(word, ticket string) bool {
	return word != "" && (word == ticket || word == ticket[strings.LastIndex(ticket, "/")+1:])
}

// An answer is what people have said about a gate of a stage.
type answer struct {
	approved bool
	rejected string // who has rejected it, and why; "" if no person has
	awaits   string // what is awaited if it is neither
}

// askApproval finds out whether the gate of a stage is approved for its present ticket, and records
// it.
func (d *decider) askApproval(rec *v1alpha1.StageStatus, gate string) answer {
	ticket := d.ticketOf(rec, gate)
	by, of := &rec.ApprovedBefore, &rec.BeforeTicket
	if gate == "after" {
		by, of = &rec.ApprovedAfter, &rec.AfterTicket
	}
	if *by != "" && *of == ticket {
		return answer{approved: true}
	}
	*by, *of = "", ""
	for _, a := range d.seen.Approvals {
		if a.Stage != rec.Name || a.Gate != gate || !names(a.Ticket, ticket) {
			continue
		}
		if a.Reject {
			return answer{rejected: strings.TrimSuffix(a.By+": "+a.Reason, ": ")}
		}
		*by, *of = a.By, ticket
	}
	who, note := d.annotated(rec, gate, ticket)
	if *by == "" && who != "" {
		*by, *of = who, ticket
	}
	if *by != "" {
		rec.Awaiting = nil
		return answer{approved: true}
	}
	return answer{awaits: d.awaitedText(rec.Name, gate, ticket) + note}
}

func (d *decider) awaitedText(stage, gate, ticket string) string {
	if d.policy.object.Spec.Approvals == v1alpha1.Objects {
		return fmt.Sprintf("waits for a StageApproval of gate %s of stage %q with ticket %s", gate, stage, ticket)
	}
	return fmt.Sprintf("waits for the annotation %s%s.%s: \"%s <who>\"", v1alpha1.ApprovalPrefix, gate, stage, ticket)
}

// annotated returns who approves a ticket by an annotation, and, if an annotation is there that
// approves something else, what is wrong with it. A value without a ticket counts only at evidence
// None, and only if the annotation was seen absent after the ticket was in the status.
func (d *decider) annotated(rec *v1alpha1.StageStatus, gate, ticket string) (who, note string) {
	value := ""
	if d.policy.object.Spec.Approvals != v1alpha1.Objects {
		value = strings.TrimSpace(d.meta.Annotations[v1alpha1.ApprovalPrefix+gate+"."+rec.Name])
	}
	word, rest, _ := strings.Cut(value, " ")
	asked := rec.Awaiting != nil && rec.Awaiting.Ticket == ticket
	switch {
	case !asked:
		rec.Awaiting = &v1alpha1.Awaiting{Gate: gate, Ticket: ticket, Since: d.meta.ResourceVersion}
	case value == "" && !rec.Awaiting.Clear && rec.Awaiting.Since != d.meta.ResourceVersion:
		rec.Awaiting = &v1alpha1.Awaiting{Gate: gate, Ticket: ticket, Since: rec.Awaiting.Since, Clear: true}
	}
	if value == "" && !rec.Awaiting.Clear && d.meta.ResourceVersion != "" && d.policy.requires(rec.Name) == fleet.EvidenceNone {
		d.recheckAt(d.now.Add(time.Second)) // to see that the annotation is absent
	}
	switch {
	case value == "":
	case names(word, ticket):
		return cmp.Or(strings.TrimSpace(rest), word), ""
	case isTicket(word):
		return "", fmt.Sprintf("; the annotation has the ticket %s, which is not this one", word)
	case d.policy.requires(rec.Name) == fleet.EvidenceNone && asked && rec.Awaiting.Clear:
		return value, ""
	default:
		return "", fmt.Sprintf("; its value %q names no ticket and was there before this one", value)
	}
	return "", ""
}

// retries begins stages again for which somebody has asked for that, by the name of the revision. A value
// that was seen before the stage has failed does not count.
func (d *decider) retries() {
	for j := range d.Status.Stages {
		rec := &d.Status.Stages[j]
		value := strings.TrimSpace(d.meta.Annotations[v1alpha1.RetryPrefix+rec.Name])
		seen := value == rec.Retried
		if rec.Retried = value; value == "" || seen {
			continue
		}
		word, _, _ := strings.Cut(value, " ")
		aside := slices.ContainsFunc(rec.Batches, func(b v1alpha1.Batch) bool { return b.SetAside != "" })
		if !hasFailed(rec.Phase) && !aside || rec.CompletedAt != nil || !d.isWanted(word) {
			continue
		}
		attempt := max(1, rec.Attempt) + 1
		d.event("Normal", "Retried", "stage %q begins attempt %d with %s", rec.Name, attempt, word)
		suspend(rec)
		rec.Attempt = attempt
	}
}

// retryText says how to try a stage again.
func (d *decider) retryText(stage string) string {
	name := d.revisionName(fleet.RevisionID(d.Status.Wanted))
	if d.Status.Wanted == "" {
		name = "first"
	}
	for _, rec := range d.Status.Stages {
		if rec.Name == stage && rec.Retried == name { // the same value again would be no change
			name = fmt.Sprintf("'%s %d'", name, rec.Attempt+1)
		}
	}
	return fmt.Sprintf("kubectl annotate --overwrite sbp %s %s%s=%s", d.policy.Name(), v1alpha1.RetryPrefix, stage, name)
}

// isWanted reports whether a word names the wanted revision.
func (d *decider) isWanted(word string) bool {
	if d.Status.Wanted == "" {
		return word == "first"
	}
	return word == d.Status.Wanted || word == d.revisionName(fleet.RevisionID(d.Status.Wanted))
}

// noteExpedited records that somebody lets the wanted revision skip soaks and windows.
func (d *decider) noteExpedited() {
	value := strings.TrimSpace(d.meta.Annotations[v1alpha1.ExpediteAnnotation])
	word, who, _ := strings.Cut(value, " ")
	if word == "" || !d.isWanted(word) {
		d.Status.Expedited = ""
		return
	}
	if d.Status.Expedited != value {
		d.event("Warning", "Expedited", "%s skips soaks and windows, as %s says", d.revisionName(fleet.RevisionID(d.Status.Wanted)), cmp.Or(who, "the annotation"))
	}
	d.Status.Expedited = value
}

// isExpedited reports whether the wanted revision skips soaks and windows.
func (d *decider) isExpedited() bool { return d.Status.Expedited != "" }

// staysFailed reports whether a stage has failed and was not passed for all that.
func staysFailed(rec v1alpha1.StageStatus) bool {
	return hasFailed(rec.Phase) && rec.CompletedAt == nil
}

// hasFailed reports whether a stage stays as it is until another revision comes or a person
// asks for a retry.
func hasFailed(p v1alpha1.Phase) bool {
	switch p {
	case v1alpha1.Failed, v1alpha1.RollingBack, v1alpha1.RolledBack, v1alpha1.RollbackNeeded:
		return true
	}
	return false
}
