package daemon

import "github.com/traposd/traposd/daemon/journal"

// journalEvents are the messages that can be found in the journal by EVENT= and by MESSAGE_ID=. The text of a message may
// change; these names and numbers may not.
var journalEvents = map[string]journal.Event{
	"listening":         {Name: "service_started", ID: "34688b73b3d14ef4b506ddbf663c60a7"},
	"stopping":          {Name: "service_stopping", ID: "99d6e8c307fc4fa78f59ce850e999bf9"},
	"stopped":           {Name: "service_stopped", ID: "22e92f33b8394ae0a2333c5438e9b51b"},
	"a listener failed": {Name: "listener_failed", ID: "74dcf37f5c044187a7b41785febf94b4"},

	"configuration applied":                                {Name: "configuration_applied", ID: "9136786d1ed24db9a2d0dbd28d030672"},
	"configuration problem":                                {Name: "configuration_problem", ID: "4fd45d8439c34d30bd096cd8e1b90829"},
	"configuration problem mended":                         {Name: "configuration_mended", ID: "34681f24ea384602ae289b779bc186d2"},
	"entry waits for approval; see traposd approve --list": {Name: "approval_pending", ID: "6816a895655c4176b905f748c45f053b"},
	"the secret for computers has changed":                 {Name: "secret_changed", ID: "96a48e3ecbad47ffb1f6beeb5bbcac0a"},

	"server ready":    {Name: "server_ready", ID: "f90e40d08b1a4927a4a20d39bc58eaa8"},
	"server down":     {Name: "server_failed", ID: "8fb1a0c727014d8b9742d607b8ec633a"},
	"server ended":    {Name: "server_ended", ID: "c0b3a5de0fd24f0d9b8b3f8cf2f0d1a7"},
	"server stopping": {Name: "server_stopping", ID: "7bcca63582b64952adf9a0b216c8e5b2"},
	"server off":      {Name: "server_off", ID: "17609a0598144997830fb5d32dade4cb"},
	"the changed server does not come up; the one before goes on serving": {Name: "server_degraded", ID: "0cfd176e0ed845d8924e1b06168491fb"},

	"computer connected":                      {Name: "computer_connected", ID: "305c076d917f441887153852241894b6"},
	"computer disconnected":                   {Name: "computer_disconnected", ID: "e625888bfc924dbaa598e208e9626317"},
	"computer replaced by a newer connection": {Name: "computer_replaced", ID: "04a4345be8fd49039c523b796d3e51ad"},
	"computer refused":                        {Name: "computer_refused", ID: "83152630c76547428b4b215c518e4656"},
	"computer unresponsive":                   {Name: "computer_unresponsive", ID: "6241b1fc87e64ad7afca5f81c60fc42e"},
	"computer responds again":                 {Name: "computer_responsive", ID: "494217a80c654136a36510421a278b9e"},
	"computer tool used":                      {Name: "computer_tool_used", ID: "f34bde2634c34ca1a9c6eb4763e4e98c"},
}
