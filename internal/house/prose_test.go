package house_test

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// An avoided is a pattern that comments and Markdown must not have, with a sentence that it caught and
// what to write instead.
type avoided struct{ pattern, caught, instead string }

// avoidedWords are words and turns that send a reader back to the beginning of the sentence.
var avoidedWords = []avoided{
	{`\banew\b`, "refresh builds the index anew", "again"},
	{`\bwhoever\b`, "whoever reads it first", "the caller, the user, the client"},
	{`\bnobody\b`, "a watch that nobody reads", "no client, without a reader"},
	{`\bthere (is|are) none\b`, "-1 if there is none", "without one, or name what is missing"},
	{`\bthat there is not\b`, "a kind that there is not", "an unknown kind"},
	{`\bas (those|that) of\b`, "begin at an earlier state, as those of API servers do", "like"},
	{`\bof which\b`, "10,000 Pods, of which some wait", "two sentences"},
	{`\bbut (for|that)\b`, "all is compared but for times", "except, however"},
	{`\b(is|are|was|be) had\b`, "the hour was had in minutes", "is available, takes"},
	{`\bon purpose\b`, "it differs on purpose", "intentionally"},
	{`\bmay not\b`, "the root may not be shared", "must not, might not"},
	{`\bbeside\b`, "beside the built-in kinds", "in addition to, next to, compared with"},
	{`\bmend(s|ed|ing)?\b`, "a bug that is not mended yet", "fix"},
	{`\bheed(s|ed|ing)?\b`, "the controller heeds one more field", "respect, use"},
	{`\bholds that\b`, "TestPage holds that FEATURES.md is what the table says", "checks that"},
	{`\b(known|taken) for\b`, "its own creations are taken for missing", "treated as"},
	{`\band the like\b|\band so on\b`, "times, addresses and the like", "list them, or stop"},
	{`\bhow-many-th\b`, "the how-many-th entry", "counts entries, starting at 0"},
	{`\ball that (is|are|was|were|has|have)\b`, "all that is due", "everything, each"},
	{`\bfor ever\b`, "a key that is reconciled for ever", "forever, without end"},
	{`\bthose (who|that|which)\b`, "those who watch see it later", "name them: watchers"},
	{`\b(is|are|was|were) to be\b`, "when a key is to be looked at again", "must, will"},
	{`\bof (theirs|ours|yours|its own)\b`, "a list of ours", "our list"},
	{`\bnone (has|have|is|was)\b`, "none has a template", "no Pod has"},
	{`\bin the place of\b`, "the hook stands in the place of webhooks", "replaces, instead of"},
	{`\bone's own\b`, "metrics of one's own", "your own"},
	{`\bwithout which\b`, "without which nothing starts", "two sentences"},
	{`\bthat which\b|\bhence\b|\bthus\b|\blest\b|\bupon\b`, "hence the sum", "plain words"},
	{`\b(is|are) asked\b`, "when a webhook is asked", "the server calls"},
	{`, too\b`, "on change, too", "also, or nothing"},
	{`\bagain and again\b`, "reconciled again and again", "repeatedly"},
}

// british are spellings that are not American.
var british = regexp.MustCompile(`(?i)\b\w*(colour|behaviour|favour|honour|neighbour|labour|centre|licence|analyse|serialis|recognis|normalis|initialis|optimis(?:e|ing|ation)|synchronis|summaris|organis|cancell?ation of|judgement|grey)\w*\b`)

// proseLater are directories whose prose their own issues write again, and programs whose text is the key
// of a cache that takes many minutes to fill: their next change of code fixes their comments.
var proseLater = []string{"staged/internal/oracle", "stage/lab/apiserver", "internal/dev/kubebin", "internal/dev/kwokbin"}

// TestProse checks comments and Markdown for words that a reader has to read twice.
func TestProse(t *testing.T) {
	files, err := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard", "*.go", "*.md").Output()
	require.NoError(t, err)
	for file := range strings.Lines(string(files)) {
		file = strings.TrimSpace(file)
		later := slices.ContainsFunc(proseLater, func(dir string) bool { return strings.HasPrefix(file, dir+"/") })
		text, err := os.ReadFile(file)
		if later || os.IsNotExist(err) || strings.Contains(file, "testdata/") || file == "CHANGELOG.md" || file == "internal/house/prose_test.go" {
			continue
		}
		require.NoError(t, err)
		for line, prose := range proseOf(file, text) {
			for _, fault := range faultsOfProse(prose) {
				t.Errorf("%s:%d: %s", file, line, fault)
			}
		}
	}
}

// TestProseFindsWhatItCaught checks each pattern against the sentence that it caught.
func TestProseFindsWhatItCaught(t *testing.T) {
	for _, a := range avoidedWords {
		require.Regexp(t, a.pattern, a.caught)
		require.NotEmpty(t, faultsOfProse(a.caught), a.caught)
	}
	require.NotEmpty(t, faultsOfProse("the colour of a bar"))
	require.Empty(t, faultsOfProse("The server sends the object to each client that watches its kind."))
}

// anyAvoided finds out at once that a line has no avoided word.
var anyAvoided, eachAvoided = compileAvoided()

func compileAvoided() (any *regexp.Regexp, each []*regexp.Regexp) {
	var all []string
	for _, a := range avoidedWords {
		all = append(all, a.pattern)
		each = append(each, regexp.MustCompile("(?i)"+a.pattern))
	}
	return regexp.MustCompile("(?i)" + strings.Join(all, "|")), each
}

func faultsOfProse(text string) (faults []string) {
	if anyAvoided.MatchString(text) {
		for i, pattern := range eachAvoided {
			if found := pattern.FindString(text); found != "" {
				faults = append(faults, "\""+found+"\" is hard to read; instead: "+avoidedWords[i].instead)
			}
		}
	}
	if found := british.FindString(text); found != "" {
		faults = append(faults, "\""+found+"\": American spelling")
	}
	return faults
}
