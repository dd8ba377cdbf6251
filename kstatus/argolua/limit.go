package argolua

import (
	"github.com/yuin/gopher-lua/ast"
)

// The operators of Lua that do more work for one instruction the longer their operands are, or that
// make strings, are calls of functions of the sandbox. Their names are no identifiers, so that no
// script can have them.
const (
	concatName  = " concat"
	compareName = " compare"
)

// limited replaces these operators in a program.
func limited(statements []ast.Stmt) []ast.Stmt {
	for _, s := range statements {
		limitStatement(s)
	}
	return statements
}

func limitStatement(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.AssignStmt:
		limitAll(s.Lhs)
		limitAll(s.Rhs)
	case *ast.LocalAssignStmt:
		limitAll(s.Exprs)
	case *ast.FuncCallStmt:
		s.Expr = limitExpr(s.Expr)
	case *ast.DoBlockStmt:
		limited(s.Stmts)
	case *ast.WhileStmt:
		s.Condition = limitExpr(s.Condition)
		limited(s.Stmts)
	case *ast.RepeatStmt:
		s.Condition = limitExpr(s.Condition)
		limited(s.Stmts)
	case *ast.IfStmt:
		s.Condition = limitExpr(s.Condition)
		limited(s.Then)
		limited(s.Else)
	case *ast.NumberForStmt:
		s.Init, s.Limit, s.Step = limitExpr(s.Init), limitExpr(s.Limit), limitExpr(s.Step)
		limited(s.Stmts)
	case *ast.GenericForStmt:
		limitAll(s.Exprs)
		limited(s.Stmts)
	case *ast.FuncDefStmt:
		s.Name.Func, s.Name.Receiver = limitExpr(s.Name.Func), limitExpr(s.Name.Receiver)
		limited(s.Func.Stmts)
	case *ast.ReturnStmt:
		limitAll(s.Exprs)
	}
}

func limitAll(exprs []ast.Expr) {
	for i, e := range exprs {
		exprs[i] = limitExpr(e)
	}
}

func limitExpr(e ast.Expr) ast.Expr {
	switch e := e.(type) {
	case *ast.StringConcatOpExpr:
		return call(e, concatName, limitExpr(e.Lhs), limitExpr(e.Rhs))
	case *ast.RelationalOpExpr:
		return call(e, compareName, &ast.StringExpr{Value: e.Operator}, limitExpr(e.Lhs), limitExpr(e.Rhs))
	case *ast.AttrGetExpr:
		e.Object, e.Key = limitExpr(e.Object), limitExpr(e.Key)
	case *ast.TableExpr:
		for _, f := range e.Fields {
			f.Key, f.Value = limitExpr(f.Key), limitExpr(f.Value)
		}
	case *ast.FuncCallExpr:
		e.Func, e.Receiver = limitExpr(e.Func), limitExpr(e.Receiver)
		limitAll(e.Args)
	case *ast.LogicalOpExpr:
		e.Lhs, e.Rhs = limitExpr(e.Lhs), limitExpr(e.Rhs)
	case *ast.ArithmeticOpExpr:
		e.Lhs, e.Rhs = limitExpr(e.Lhs), limitExpr(e.Rhs)
	case *ast.UnaryMinusOpExpr:
		e.Expr = limitExpr(e.Expr)
	case *ast.UnaryNotOpExpr:
		e.Expr = limitExpr(e.Expr)
	case *ast.UnaryLenOpExpr:
		e.Expr = limitExpr(e.Expr)
	case *ast.FunctionExpr:
		limited(e.Stmts)
	}
	return e
}

// call is the call of a function of the sandbox in place of an operator. It has one result, even as
// the last of several arguments.
func call(at ast.Expr, name string, args ...ast.Expr) ast.Expr {
	function := &ast.IdentExpr{Value: name}
	out := &ast.FuncCallExpr{Func: function, Args: args, AdjustRet: true}
	for _, e := range append([]ast.Expr{function, out}, args...) {
		if e.Line() == 0 {
			e.SetLine(at.Line())
			e.SetLastLine(at.LastLine())
		}
	}
	return out
}
