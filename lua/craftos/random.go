package craftos

import (
	"math"
	"math/rand/v2"

	lua "github.com/yuin/gopher-lua"
)

// random is math.random of one computer, seeded anew at each boot.
type random struct{ source *rand.Rand }

func newRandom() *random {
	return &random{source: rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))}
}

func (r *random) seed(l *lua.LState) int {
	seed := math.Float64bits(checkNumber(l, 1))
	r.source = rand.New(rand.NewPCG(seed, seed))
	return 0
}

func (r *random) random(l *lua.LState) int {
	if l.GetTop() == 0 {
		l.Push(lua.LNumber(r.source.Float64()))
		return 1
	}
	low, high := 1.0, math.Floor(checkNumber(l, 1))
	if l.GetTop() > 1 {
		low, high = high, math.Floor(checkNumber(l, 2))
	}
	if !(low <= high) || high-low >= 1<<53 {
		throw(l, "bad argument #1 to 'random' (interval is empty)")
	}
	l.Push(lua.LNumber(low + float64(r.source.Int64N(int64(high-low)+1))))
	return 1
}
