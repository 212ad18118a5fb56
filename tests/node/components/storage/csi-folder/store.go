package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	volumes, snapshots = "volumes", "snapshots"
	// Where things are made and taken apart, so that what is elsewhere is whole.
	bench = "bench"
)

// record tells of a volume or a snapshot; it is kept beside its files.
type record struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Size    int64     `json:"size"`
	Source  source    `json:"source"`
	Created time.Time `json:"created"`
	Ready   time.Time `json:"ready"`
}

// source is what the files were copied from; of an empty volume it is zero.
type source struct {
	Kind string `json:"kind,omitempty"`
	ID   string `json:"id,omitempty"`
}

// store is a folder of volumes and snapshots. One process changes it, others may read.
type store struct {
	sync.Mutex
	root string
}

func openStore(root string) (*store, error) {
	for _, kind := range []string{volumes, snapshots, bench} {
		if err := os.MkdirAll(filepath.Join(root, kind), 0o755); err != nil {
			return nil, err
		}
	}
	return &store{root: root}, nil
}

// idOf is the same for the same name, so that who asks twice gets one.
func idOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:16])
}

func (s *store) place(kind, id string) string {
	return filepath.Join(s.root, kind, id)
}

func (s *store) files(kind, id string) string {
	return filepath.Join(s.place(kind, id), "files")
}

// find returns nil where there is none; what callers say is an id may be anything.
func (s *store) find(kind, id string) (*record, error) {
	if id == "" || strings.Contains(id, "/") || strings.HasPrefix(id, ".") {
		return nil, nil
	}
	text, err := os.ReadFile(filepath.Join(s.place(kind, id), "record.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	found := &record{}
	return found, json.Unmarshal(text, found)
}

// list returns all of a kind, sorted by id.
func (s *store) list(kind string) ([]*record, error) {
	entries, err := os.ReadDir(filepath.Join(s.root, kind))
	if err != nil {
		return nil, err
	}
	var found []*record
	for _, entry := range entries {
		each, err := s.find(kind, entry.Name())
		if err != nil {
			return nil, err
		}
		if each != nil {
			found = append(found, each)
		}
	}
	slices.SortFunc(found, func(a, b *record) int { return strings.Compare(a.ID, b.ID) })
	return found, nil
}

// add makes a volume or a snapshot with what its source holds now.
func (s *store) add(kind string, wanted *record) error {
	making := s.place(bench, wanted.ID)
	if err := os.RemoveAll(making); err != nil {
		return err
	}
	files := filepath.Join(making, "files")
	if err := os.MkdirAll(files, 0o755); err != nil {
		return err
	}
	if wanted.Source.ID != "" {
		if err := copyAll(s.files(wanted.Source.Kind, wanted.Source.ID), files); err != nil {
			return err
		}
	}
	if err := write(making, wanted); err != nil {
		return err
	}
	return os.Rename(making, s.place(kind, wanted.ID))
}

// change writes what a record says now.
func (s *store) change(kind string, changed *record) error {
	return write(s.place(kind, changed.ID), changed)
}

// remove removes a volume or a snapshot; one that is gone is fine.
func (s *store) remove(kind, id string) error {
	found, err := s.find(kind, id)
	if err != nil || found == nil {
		return err
	}
	ending := s.place(bench, id)
	if err := os.RemoveAll(ending); err != nil {
		return err
	}
	if err := os.Rename(s.place(kind, id), ending); err != nil {
		return err
	}
	return os.RemoveAll(ending)
}

func write(folder string, said *record) error {
	text, err := json.Marshal(said)
	if err != nil {
		return err
	}
	draft := filepath.Join(folder, "record.draft")
	if err := os.WriteFile(draft, text, 0o644); err != nil {
		return err
	}
	return os.Rename(draft, filepath.Join(folder, "record.json"))
}

// copyAll copies with modes, owners, times, links and attributes; the folder itself has them, too.
func copyAll(from, to string) error {
	said, err := exec.Command("cp", "-a", "--reflink=auto", "--", from+"/.", to).CombinedOutput()
	if err != nil {
		return fmt.Errorf("cp: %w: %s", err, said)
	}
	return nil
}
