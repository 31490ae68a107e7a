// Which patterns match the last line of a log, in the way of node-problem-detector (pkg/systemlogmonitor,
// log_buffer.go): the pattern with \z behind it is searched in the last lines, joined.
//
// Reads {"patterns": {name: pattern}, "lines": [...], "buffer_size": n} and writes for each line the names.
package main

import (
	"encoding/json"
	"log"
	"os"
	"regexp"
	"sort"
	"strings"
)

type question struct {
	Patterns   map[string]string `json:"patterns"`
	Lines      []string          `json:"lines"`
	BufferSize int               `json:"buffer_size"`
}

func main() {
	var asked question
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		log.Fatal(err)
	}
	compiled := map[string]*regexp.Regexp{}
	for name, pattern := range asked.Patterns {
		compiled[name] = regexp.MustCompile(pattern + `\z`)
	}
	buffer := make([]string, asked.BufferSize)
	answers := [][]string{}
	for _, line := range asked.Lines {
		buffer = append(buffer[1:], strings.TrimSpace(line))
		answers = append(answers, matching(compiled, strings.Join(buffer, "\n")))
	}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		log.Fatal(err)
	}
}

func matching(compiled map[string]*regexp.Regexp, text string) []string {
	names := []string{}
	for name, pattern := range compiled {
		if pattern.FindStringIndex(text) != nil {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
}
